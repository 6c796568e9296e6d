"""Turn a recorded run into a Minari dataset.

python -m venv bridge && . bridge/bin/activate
pip install agentgym-suite "minari[hdf5]==0.5.4"
agentgym eval tools -a oracle --out runs/oracle
python examples/bridges/minari_dataset.py runs/oracle agentgym/tools/oracle-v0
"""

import sys

import minari
from minari.data_collector import EpisodeBuffer

from agentgym.train.bridges.minari import recorded_episodes


def main(run: str, name: str) -> minari.MinariDataset:
    """Write the scored episodes of a run into Minari's folder, and return the dataset."""
    found = recorded_episodes([run])
    dataset = minari.create_dataset_from_buffers(
        dataset_id=name,
        buffer=[EpisodeBuffer(**fields) for fields in found.buffers],
        observation_space=found.observation_space,
        action_space=found.action_space,
        data_format="hdf5",
        requirements=["agentgym-suite"],
    )
    dataset.storage.update_episode_metadata(found.metadata)
    print(f"{dataset.total_episodes} episodes, {dataset.total_steps} steps in {name}")
    for line in found.left_out:
        print(f"left out: {line}")
    return dataset


if __name__ == "__main__":
    main(*sys.argv[1:])
