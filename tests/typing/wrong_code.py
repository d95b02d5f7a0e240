"""Code that mypy --strict must reject: one fault per line, each with the code of the error."""

import drive_env
from drive_env import Batch, DriveConfig, parallel_env
from drive_env.render import nonsense  # want: attr-defined

drive_env.nothing  # want: attr-defined
DriveConfig(max_trials="two")  # want: arg-type
DriveConfig(trial_step=5)  # want: call-arg
DriveConfig(partners=5)  # want: call-arg
DriveConfig(5)  # want: call-arg
DriveConfig(observation="float16")  # want: arg-type
DriveConfig(dynamics=5)  # want: arg-type
DriveConfig().observation.partner  # want: attr-defined
Batch(num_world=2)  # want: call-arg
parallel_env(scene="town")  # want: call-arg
DriveConfig().dt_s = 0.1  # want: misc
Batch(num_worlds="many")  # want: arg-type
Batch(scenes=7)  # want: arg-type
Batch().observation  # want: attr-defined
parallel_env().step([1, 2])  # want: arg-type
parallel_env(config=0.1)  # want: arg-type
drive_env.generate_scene(7)  # want: arg-type
