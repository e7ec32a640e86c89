#!/bin/sh
# Slurm's TaskProlog: tells a job the configuration that Wattline chose for it. What is printed as "export …" is set
# in the job's environment: WATTLINE_CORES (cores to use on each node) and WATTLINE_CPU_CAP_W.
note=$(scontrol -o show job "$SLURM_JOB_ID" | tr ' ' '\n' | sed -n 's/^AdminComment=wattline=run,//p')
for word in $(echo "$note" | tr ',' ' '); do
  case "$word" in
    cores=*) echo "export WATTLINE_CORES=${word#cores=}"; echo "export OMP_NUM_THREADS=${word#cores=}" ;;
    cap=*) echo "export WATTLINE_CPU_CAP_W=${word#cap=}" ;;
  esac
done
exit 0
