"""The Python package lobule: installed by pip, after asking."""

import slicer

PACKAGE = "lobule>=0.2,<0.3"
ASK = "Lobule needs its Python package, which is not in this 3D Slicer. Install it by pip?"
NO_PACKAGE = (
    "The Python package lobule is not in this 3D Slicer. In the Python console, install a wheel that fits: "
    "slicer.util.pip_install('/path/to/lobule-....whl')"
)


def has_package():
    """Is the package there, or may it be installed now?"""
    try:
        import lobule  # noqa: F401
    except ImportError:
        if not slicer.util.confirmOkCancelDisplay(ASK):
            return False
        try:
            slicer.util.pip_install(PACKAGE)
            import lobule  # noqa: F401
        except Exception:  # noqa: BLE001  pip's failures are of many kinds
            slicer.util.errorDisplay(NO_PACKAGE)
            return False
    return True
