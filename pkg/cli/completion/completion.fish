function _NAME_complete
  set -l last (commandline -ct)
  set -l words (commandline -opc) $last
  set -l found ($words[1] $words[2..-1] --generate-bash-completion 2>/dev/null)
  or return
  if set -q found[1]
    printf '%s\n' $found
  else
    set -l flag (string match -r '^--[^=]+=' -- $last)
    for path in (__fish_complete_path (string replace -r '^--[^=]+=' '' -- $last))
      echo "$flag$path"
    end
  end
end
complete -c NAME -f -a '(_NAME_complete)'
