from bondloop.results.motions.accelerograms import read_at2 as read_at2
from bondloop.results.motions.accelerograms import read_ground_motion as read_ground_motion
from bondloop.results.motions.ground_motion import GroundMotion as GroundMotion
