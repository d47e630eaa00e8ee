#!/usr/bin/env bash
# Pieces of one volume that the tasks of a job share: smoothed, cut by Otsu's threshold, joined, numbered and measured.
#
#     sbatch --nodes=2 slurm_ranks.sh scan.ome.zarr pieces.ome.zarr
#
# Beside the pieces come their table, pieces.tsv, and what lies between: pieces.smooth.ome.zarr and pieces.mask.ome.zarr.
# Each is made by a step of its own, so that a job that was put back into the queue goes on behind the last one that is
# complete. A file that is there is kept: give each scan a name of its own for its pieces.
#
#SBATCH --job-name=lobule
#SBATCH --output=lobule-%j.log
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=8
#SBATCH --mem-per-cpu=2G
set -eu

if [ $# -ne 2 ]; then
    echo "usage: slurm_ranks.sh SCAN PIECES.ome.zarr" >&2
    exit 64
fi
scan=$1 pieces=$2
name=${pieces%.ome.zarr}
lobule=${LOBULE:-lobule}                                  # the program
read -ra launch <<<"${LOBULE_LAUNCH-srun -K --mpi=pmix}"  # what starts it in every task, and ends all if one ends badly

# What srun does not take from sbatch since Slurm 22.05.
export SRUN_CPUS_PER_TASK=${SLURM_CPUS_PER_TASK:-1}

options=(--skip-existing --threads "${SLURM_CPUS_PER_TASK:-1}")
# Of a task's memory, in MiB, a tenth is left to what is not counted.
memory=$((${SLURM_MEM_PER_CPU:-0} * ${SLURM_CPUS_PER_TASK:-1} * 9 / 10))
[ "$memory" -gt 0 ] && options+=(--max-memory "${memory}MiB")

share() { "${launch[@]}" "$lobule" "$@" "${options[@]}"; }

share filter "$scan" -o "$name.smooth.ome.zarr" --gaussian 1vox
share threshold "$name.smooth.ome.zarr" -o "$name.mask.ome.zarr"
share components "$name.mask.ome.zarr" -o "$pieces" --min-size 20vox --table "$name.tsv" --image "$scan"
