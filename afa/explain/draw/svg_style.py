"""The style sheet of a drawing: colours for light and for dark, as variables that a page may set anew."""

from __future__ import annotations

from afa.explain.draw.arc_labels import FONTS

LIGHT = """
--afa-paper:#fff;--afa-ink:#1f2328;--afa-dim:#59636e;--afa-line:#424a53;--afa-fill:#eef4fb;--afa-edge:#3b6ea5;
--afa-final:#e6f4e8;--afa-final-edge:#2d7a3a;--afa-ignorable:#7d8690;--afa-skip:#7d8690;--afa-epsilon:#7a4fb5;--afa-timeout:#b45309
""".replace("\n", "")
DARK = """
--afa-paper:#0d1117;--afa-ink:#e6edf3;--afa-dim:#9ea7b1;--afa-line:#b1bac4;--afa-fill:#172437;--afa-edge:#6ea8e6;
--afa-final:#132a19;--afa-final-edge:#58b368;--afa-ignorable:#868e97;--afa-skip:#868e97;--afa-epsilon:#bc98f0;--afa-timeout:#e89b4a
""".replace("\n", "")

FAMILIES = {
    "sans": "400 {size}px Arial,Helvetica,'Liberation Sans',Arimo,sans-serif",
    "bold": "600 {size}px Arial,Helvetica,'Liberation Sans',Arimo,sans-serif",
    "mono": "400 {size}px Menlo,'DejaVu Sans Mono','Liberation Mono',Consolas,monospace",
}

SHEET = """
svg.afa{LIGHT;max-width:100%;height:auto}
@media(prefers-color-scheme:dark){svg.afa{DARK}}
:root[data-theme=light] svg.afa,svg.afa[data-theme=light]{LIGHT}
:root[data-theme=dark] svg.afa,svg.afa[data-theme=dark]{DARK}
svg.afa .paper{fill:var(--afa-paper)}
svg.afa text{fill:var(--afa-ink);white-space:pre}
svg.afa .label text{paint-order:stroke;stroke:var(--afa-paper);stroke-width:3px;stroke-linejoin:round}
svg.afa .transfer-text,svg.afa .kind-text,svg.afa .life-text{fill:var(--afa-dim)}
svg.afa .state rect{fill:var(--afa-fill);stroke:var(--afa-edge);stroke-width:1.5}
svg.afa .state.final rect{fill:var(--afa-final);stroke:var(--afa-final-edge)}
svg.afa .state.final rect.inner{fill:none;stroke-width:1}
svg.afa .arc,svg.afa .begin{--line:var(--afa-line)}
svg.afa .line{fill:none;stroke:var(--line);stroke-width:1.5}
svg.afa .head,svg.afa .begin circle{fill:var(--line)}
svg.afa .arc.ignorable{--line:var(--afa-ignorable)}
svg.afa .arc.skip{--line:var(--afa-skip)}
svg.afa .arc.epsilon{--line:var(--afa-epsilon)}
svg.afa .arc.time-out{--line:var(--afa-timeout)}
svg.afa .arc.ignorable .line{stroke-width:1}
svg.afa .arc.skip .line{stroke-dasharray:7 3;stroke-width:1}
svg.afa .arc.epsilon .line{stroke-dasharray:2 3}
svg.afa .arc.time-out .line{stroke-width:2.5}
svg.afa .arc.epsilon .kind-text,svg.afa .arc.time-out .kind-text{fill:var(--line)}
svg.afa .arc.past{opacity:.6}
svg.afa .arc.past .life-text{fill:var(--afa-ink)}
svg.afa .arc:hover .line{stroke-width:3}
"""


def _sheet() -> str:
    fonts = (f"svg.afa .{style}-text{{font:{FAMILIES[font].format(size=f'{size:g}')}}}" for style, (font, size) in FONTS.items())
    return SHEET.strip().replace("LIGHT", LIGHT).replace("DARK", DARK) + "\n" + "\n".join(fonts)


STYLE = _sheet()
