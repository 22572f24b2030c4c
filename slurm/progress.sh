# shellcheck shell=bash disable=SC2154,SC2034
# Sourced by job.sh: how far a batch is. The job's comment tells it, and requeues count that got it no further.

# Lines of the run, of which the comment tells how many are done. Empty before the dry run.
total=
# Records that the run had when the job started, and requeues since it last got further, this one included.
records=0
counted=$requeues
# A file beside the output that keeps all this for the next start: "JOB REQUEUES RECORDS COUNTED TOTAL". Empty
# if there is none: a service, or an output that is no regular file.
requeue_file=

# output_file EXTENSION: prints the name of a file beside the output, as scorecast forms it.
output_file() { echo "$(realpath -m -- "$output").$1"; }

# records_done: prints how many records the run has, according to its state.
records_done() {
  sed -n '/^ *"next":/,/}/s/.*"\(succeeded\|refused\|error_records\)": *\([0-9]*\).*/\2/p' \
    "$(output_file state)" 2> /dev/null | awk '{ n += $1 } END { print n + 0 }'
}

# has_progressed: whether the run has got further since the job started.
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

# keep_count: writes the file, when no other job uses the output.
keep_count() {
  test -z "$requeue_file" ||
    echo "$job $requeues $records $counted $total" 2> /dev/null > "$requeue_file" || true
}

# drop_count: removes the file, if it is this job's, because the job is not queued again.
drop_count() {
  if [[ -n $requeue_file ]] && grep -qs "^$job " "$requeue_file"; then
    rm -f "$requeue_file"
  fi
}

# requeue_text REQUEUES COUNTED: prints which requeue it is.
requeue_text() {
  if (($1 == $2)); then
    echo "requeue $1 of $max_requeues"
  else
    echo "requeue $1, $2 of $max_requeues since the last progress"
  fi
}

# limit_text COUNTED: says that there were enough requeues.
limit_text() {
  local since=
  (($1 == requeues)) || since=' since its last progress'
  echo "it was queued again $(times "$1")$since, and MAX_REQUEUES is $max_requeues"
}

# tell_progress [SECONDS_LEFT]: writes into the job's comment how far the batch is, unless the user has written
# something else there. Nothing happens if Slurm does not take it.
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

# report_progress: tells the progress while the ranks run.
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
