#!/usr/bin/env bash
# One shard of a batch in each task of a Slurm array. What follows the script's name goes to `lobule batch`:
#
#     sbatch --array=1-8 slurm_array.sh liver.recipe scans.tsv
#     sbatch --dependency=afterany:JOB --wrap 'lobule batch --merge scans.batch'
#
# With a GPU for each task, add --gres=gpu:1. Tasks that share the GPUs of a node need no --gres: each leases one and
# waits for it.
#
#SBATCH --job-name=lobule
#SBATCH --output=lobule-%A_%a.log
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --cpus-per-task=4
#SBATCH --mem=8G
set -u

lobule=${LOBULE:-lobule}  # the program
most=${LOBULE_TRIES:-5}   # times that a task is put back into the queue

options=(--resume --quiet --threads "${SLURM_CPUS_PER_TASK:-1}")
# Of the task's memory, in MiB, a tenth is left to what a batch does not count.
[ "${SLURM_MEM_PER_NODE:-0}" -gt 0 ] && options+=(--max-memory "$((SLURM_MEM_PER_NODE * 9 / 10))MiB")

# The task's number says which shard it is.
"$lobule" batch "${options[@]}" "$@"
code=$?

# 75: a device was busy, or memory short, for a while. What is done stays done, and the rest is tried again.
if [ "$code" -eq 75 ] && [ "${SLURM_RESTART_COUNT:-0}" -lt "$most" ]; then
    job=${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}${SLURM_ARRAY_TASK_ID:+_$SLURM_ARRAY_TASK_ID}
    scontrol requeue "$job" && sleep 60  # which ends this task
fi
exit "$code"
