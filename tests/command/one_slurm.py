"""A Slurm of this machine alone, which tests start and end."""

import contextlib
import os
import shutil
import socket
import subprocess
import time

import pytest

SLURM = [shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin") for name in ("slurmctld-wlm", "slurmd-wlm", "sbatch")]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


# One machine: no munge, no accounts, no cgroups; a job that is put back waits as long as credentials hold, 5 s. Jobs of
# each Slurm count from 1, and PMIx refuses a step whose folder a killed one has left: so TmpFS is of this Slurm alone.
CONF = """ClusterName=one
SlurmctldHost=localhost(127.0.0.1)
AuthType=auth/none
CredType=cred/none
AuthInfo=cred_expire=5
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={state}/state
SlurmdSpoolDir={state}/spool
TmpFS={state}
SlurmctldPidFile={state}/ctld.pid
SlurmdPidFile={state}/d.pid
SlurmctldLogFile={state}/ctld.log
SlurmdLogFile={state}/d.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1,batch_sched_delay=0,sched_min_interval=0
NodeName=localhost NodeAddr=127.0.0.1 CPUs=8 RealMemory=4000 State=UNKNOWN
PartitionName=p Nodes=localhost Default=YES MaxTime=INFINITE State=UP
"""


@contextlib.contextmanager
def running(state):
    """The environment in which sbatch and srun reach a Slurm of one machine, whose state is in this folder."""
    if None in SLURM:
        pytest.skip("no Slurm; on Debian: apt-get install slurmctld slurmd slurm-client")
    if os.geteuid() != 0:
        pytest.skip("Slurm on one machine, without munge, is started as root")
    for name in ("state", "spool"):
        (state / name).mkdir()
    conf = state / "slurm.conf"
    conf.write_text(CONF.format(user="root", ports=[free_port(), free_port()], state=state))
    environment = {**os.environ, "SLURM_CONF": str(conf)}
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    daemons = []
    try:
        for command in ([SLURM[0], "-D", "-i", "-f", conf], [SLURM[1], "-D", "-N", "localhost", "-f", conf]):
            daemons.append(subprocess.Popen([str(x) for x in command], env=environment, **quiet))
        for _ in range(300):
            nodes = subprocess.run(["sinfo", "-h", "-o", "%t"], env=environment, capture_output=True, encoding="utf-8",
                                   check=False)
            if nodes.stdout.strip() in ("idle", "mix"):
                break
            time.sleep(0.1)
        else:
            logs = "".join((state / x).read_text()[-600:] for x in ("ctld.log", "d.log") if (state / x).exists())
            pytest.skip(f"Slurm does not start here: {nodes.stderr} {logs}")
        yield environment
    finally:
        for signal in ("KILL", "TERM"):  # tasks that are left, then their jobs
            subprocess.run(["scancel", "--full", "-s", signal, "-u", str(os.getuid())], env=environment, capture_output=True, check=False)
        for daemon in reversed(daemons):
            daemon.terminate()
        for daemon in daemons:
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
