"""Sign-in in a browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_somebody_signs_in_and_out_without_scripts(window: Callable[..., Any], scheme: str) -> None:
    with window("Ada", java_script_enabled=False, color_scheme=scheme) as one:
        page = one.open("/account")
        page.get_by_role("button", name="Begin a session").click()
        assert page.get_by_role("heading", level=1).text_content() == "Ada"
        page.get_by_role("button", name="Sign out").click()
        assert page.get_by_role("button", name="Begin a session").is_visible()


@pytest.mark.parametrize("name", ["", "Ada"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_fault_and_it_fits_a_telephone(window: Callable[..., Any], name: str, scheme: str) -> None:
    with window(name, bypass_csp=True, color_scheme=scheme, viewport={"width": 390, "height": 800}) as one:
        page = one.open("/account")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert one.faults() == []
