from bondloop.results.assess.delay_estimate import correlation as correlation
from bondloop.results.assess.delay_estimate import delay as delay
from bondloop.results.assess.drift import vibration as vibration
from bondloop.results.assess.energy import energy_error_of_motion as energy_error_of_motion
from bondloop.results.assess.energy import (
    normalised_energy_error_of_motion as normalised_energy_error_of_motion,
)
from bondloop.results.assess.energy import work as work
from bondloop.results.assess.error_metrics import Metrics as Metrics
from bondloop.results.assess.error_metrics import metrics as metrics
from bondloop.results.assess.frequency import frequency_evaluation_index as frequency_evaluation_index
from bondloop.results.assess.judgement import SCALES as SCALES
from bondloop.results.assess.judgement import Finding as Finding
from bondloop.results.assess.judgement import Grade as Grade
from bondloop.results.assess.judgement import Judgement as Judgement
from bondloop.results.assess.judgement import graded as graded
from bondloop.results.assess.judgement import percent as percent
from bondloop.results.assess.samples import finite_part as finite_part
from bondloop.results.assess.samples import mean_period as mean_period
from bondloop.results.assess.samples import same_length as same_length
from bondloop.results.assess.tolerances import FEWEST as FEWEST
from bondloop.results.assess.tracking import normalised_rms_error as normalised_rms_error
from bondloop.results.assess.tracking import peak_amplitude_error as peak_amplitude_error
