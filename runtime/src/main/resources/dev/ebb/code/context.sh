# Runs the cells of a context. Orders and answers go by the line, a socket that was our stdin: see Context and Frames.
exec 50<&0 </dev/null
ebb_say() { builtin printf '%s %s %d\n%s' "$ebb_nonce" "$1" "${#2}" "$2" >&50; }
ebb_take() { IFS= builtin read -r -d '' "$1" <&50; }
ebb_run() { builtin eval "$1"; }
# After an interrupt every function returns at its next command, until we are back at the top.
ebb_unwind() { [ ${#FUNCNAME[@]} -le 1 ] || return 2; }
ebb_interrupt() {
  ebb_word=interrupted
  builtin shopt -s extdebug
  builtin set -T
  builtin trap ebb_unwind DEBUG
}
ebb_give_back() {
  while [ ${#ebb_names[@]} -gt 0 ]; do
    if [ "${ebb_had[0]}" ]; then
      builtin export "${ebb_names[0]}=${ebb_old[0]}"
    else
      builtin unset "${ebb_names[0]}"
    fi
    ebb_names=("${ebb_names[@]:1}") ebb_had=("${ebb_had[@]:1}") ebb_old=("${ebb_old[@]:1}")
  done
}
ebb_lend() {
  ebb_names=() ebb_had=() ebb_old=()
  while [ "$1" -gt ${#ebb_names[@]} ]; do
    ebb_take ebb_text
    ebb_names+=("${ebb_text%%=*}")
    ebb_had+=("${!ebb_names[-1]+yes}")
    ebb_old+=("${!ebb_names[-1]-}")
    builtin export "$ebb_text"
  done
}
ebb_trace='' ebb_nonce=0000000000000000
ebb_say ready ''
while ebb_take ebb_nonce && ebb_take ebb_text; do
  ebb_lend "$ebb_text"
  ebb_take ebb_text
  ebb_word=''
  builtin trap ebb_interrupt INT
  ebb_say begun ''
  ebb_run "$ebb_trace$ebb_text" 50<&-
  { ebb_status=$? ebb_set=$-; builtin set +x; } 2>/dev/null
  builtin trap : INT
  if [ "$ebb_word" ]; then
    builtin trap - DEBUG
    builtin shopt -u extdebug
    builtin set +T
  fi
  case $ebb_set in *x*) ebb_trace='set -x; ' ;; *) ebb_trace='' ;; esac
  ebb_give_back
  ebb_say done "${ebb_word:-$ebb_status}"
done
builtin exit 0
