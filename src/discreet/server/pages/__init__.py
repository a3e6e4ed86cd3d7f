"""What people see in a browser: pages made on the server, one look, no request to anywhere else.

How a page is added
-------------------
1. Write ``templates/NAME.html`` beginning with ``{% extends "base.html" %}`` and fill the blocks ``main`` (its heading
   is ``<h1>{{ title }}</h1>``) and, where needed, ``scripts``. All is escaped; names that are not given are errors.
   Policy: no ``<script>`` with code, no ``style=``, no ``on...=``. Styles stand in ``static/server.css`` and use the
   colours of ``report/templates/style.css``, which comes first on every page, so that dark, print and phone work.
2. Write a handler ``async def show_it(self, visit: Visit) -> Response`` in a class that has the :class:`PageFrame`, and
   return ``self.frame.page(visit, "NAME.html", "Title", more=...)``. ``visit.who`` is who asks; ask
   ``allowed(visit.who, "some.action", ...).required()`` before anything else. An error that is raised becomes a page.
3. Give its addresses in ``routes()``: ``self.frame.route("/it", self.show_it)``, and with ``methods=("POST",)`` what
   changes something. Forms hold ``{{ csrf }}`` (a hidden field; nothing for who has no session) and are read from
   ``visit.form``; origin and token were checked before the handler runs. Answer a form with ``see_other("/it")``.
   Files: ``self.frame.route(..., files=MOST_BYTES)``; they are in ``visit.files``, and larger ones were refused unread.
4. Add ``PageLink("/it", "Words", "some.action")`` to ``LINKS`` of ``frame.py`` where the head of pages should have it.
5. Add it to ``tests/server/pages``: axe, narrow screen, no request elsewhere.

A script of ours lies in ``static/NAME.js`` (plain module, no ``eval``), a vendored one in ``static/vendor`` with its
licence and a line in ``manifest.json``; templates write ``{{ script("NAME.js") }}``.
"""
