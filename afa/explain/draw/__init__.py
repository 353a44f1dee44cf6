"""Pictures of automata.

drawing           the method `draw` of automata, in three forms; DOT and Mermaid, text that other programs draw
svg               SVG, for pages and notebooks, with colours for light and for dark: the best of several layouts
page              an HTML page with the drawing and a table of the arcs
layered           a layered layout; labels are nodes of it, in stacks; which arcs run upward
arc_labels        the lines of text beside an arc, and where they are broken
operator_drawing  that of operators: their arcs in force, with their lifetimes; what notebooks show
font_widths       how wide text is
words             what all say about an arc: its kind, the source text of its functions, and fences in words
"""
