"""What do generated scenes look like? A card with facts, a film and a reference score for each generator.

`drive-env gallery` writes them as a page; docs/draw_gallery.py writes those of docs/gallery.md.
"""
