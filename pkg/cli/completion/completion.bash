_NAME_complete() {
  local IFS=$'\n' found
  found=$("${COMP_WORDS[0]}" "${COMP_WORDS[@]:1:COMP_CWORD}" --generate-bash-completion 2>/dev/null) || compopt +o bashdefault +o default
  COMPREPLY=($(cut -f 1 <<<"$found"))
}
complete -o bashdefault -o default -F _NAME_complete NAME
