#compdef NAME
_NAME() {
  local said
  local -a found
  said=$("${words[1]}" "${(@)words[2,CURRENT]}" --generate-bash-completion 2>/dev/null) || return
  found=("${(@f)$(cut -f 1 <<<"$said")}")
  if [[ -n "$found" ]]; then compadd -- "${found[@]}"; else _files; fi
}
if [[ "$funcstack[1]" == _NAME ]]; then _NAME "$@"; else compdef _NAME NAME; fi
