# shellcheck shell=bash disable=SC2154,SC2034
# Sourced by job.sh: the progress of a batch. The job's comment shows it, and it decides which requeues count:
# those since the last progress.

# Number of lines of the run. The comment tells how many of them are done. Empty before the dry run.
total=
# Number of records that the run had when the job started, and number of requeues since it last made progress,
# this one included.
records=0
counted=$requeues
# A file beside the output that keeps these numbers for the next start: "JOB REQUEUES RECORDS COUNTED TOTAL".
# Empty if there is no such file, for a service or if the output is no regular file.
requeue_file=

# output_file EXTENSION: prints the name of a file beside the output, formed as scorecast does.
output_file() { echo "$(realpath -m -- "$output").$1"; }

# records_done: prints how many records the run has, according to its state file.
records_done() {
  sed -n '/^ *"next":/,/}/s/.*"\(succeeded\|refused\|error_records\)": *\([0-9]*\).*/\2/p' \
    "$(output_file state)" 2> /dev/null | awk '{ n += $1 } END { print n + 0 }'
}

# has_progressed: whether the run has made progress since the job started.
has_progressed() { [[ -n $requeue_file ]] && (($(records_done) > records)); }

# count_requeues: sets `records`, `counted` and, if the job has run before, `total`.
count_requeues() {
  if [[ -z ${output:-} || $output == - ]] || [[ -e $output && ! -f $output ]]; then
    return
  fi
  requeue_file=$(output_file requeues)
  records=$(records_done)
  local owner='' at=0 before=0 count=0
  if test -r "$requeue_file"; then
    read -r owner at before count total < "$requeue_file" || true
    [[ $owner == "$job" ]] || at=0 before=0 count=0 total=
  fi
  ((records <= before)) || count=0
  counted=$((count + requeues - at))
}

# keep_count: writes the file, once no other job uses the output.
keep_count() {
  test -z "$requeue_file" ||
    echo "$job $requeues $records $counted $total" 2> /dev/null > "$requeue_file" || true
}

# drop_count: removes the file if it is this job's. Called when the job is not queued again.
drop_count() {
  if [[ -n $requeue_file ]] && grep -qs "^$job " "$requeue_file"; then
    rm -f "$requeue_file"
  fi
}

# requeue_text REQUEUES COUNTED: prints the number of this requeue.
requeue_text() {
  if (($1 == $2)); then
    echo "requeue $1 of $max_requeues"
  else
    echo "requeue $1, $2 of $max_requeues since the last progress"
  fi
}

# limit_text COUNTED: prints that there were too many requeues.
limit_text() {
  local since=
  (($1 == requeues)) || since=' since its last progress'
  echo "it was queued again $(times "$1")$since, and MAX_REQUEUES is $max_requeues"
}

# tell_progress [SECONDS_LEFT]: writes the batch's progress into the job's comment, unless the user has written
# something else there. If Slurm does not take the comment, nothing else happens.
tell_progress() {
  local comment now text
  [[ -n $total ]] && ((progress_seconds > 0)) || return 0
  comment=$(timeout 5 squeue -h -j "$job" -o %k 2> /dev/null) || return 0
  [[ -z $comment || $comment == '(null)' || $comment == 'scorecast: '* ]] || return 0
  now=$(records_done)
  text="scorecast: $now of $total lines ($((total > 0 ? 100 * now / total : 100)) %)"
  if [[ -n ${1:-} ]]; then
    text+=$(printf ', %d:%02d:%02d left' $(($1 / 3600)) $(($1 / 60 % 60)) $(($1 % 60)))
  fi
  timeout 5 scontrol update JobId="$job" Comment="$text" > /dev/null 2>&1 || true
}

# report_progress: updates the job's comment while the ranks run.
report_progress() {
  ((progress_seconds > 0)) || return 0
  local second now first begin=$SECONDS
  first=$(records_done)
  for ((second = 1; ; ++second)); do
    sleep 1
    kill -0 "$process" 2> /dev/null || return 0
    ((second == 10 || second % progress_seconds == 0)) || continue
    now=$(records_done)
    if ((now > first)); then
      tell_progress $(((SECONDS - begin) * (total - now) / (now - first)))
    else
      tell_progress
      begin=$SECONDS # Reading the model says nothing about the time that is left.
    fi
  done
}
