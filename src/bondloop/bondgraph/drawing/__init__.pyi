from bondloop.bondgraph.drawing.geometry import Edge as Edge
from bondloop.bondgraph.drawing.geometry import Node as Node
from bondloop.bondgraph.drawing.page import draw as draw
from bondloop.bondgraph.drawing.page import layout as layout
from bondloop.bondgraph.drawing.page import quality as quality
from bondloop.bondgraph.drawing.text_sketch import sketch as sketch
