// `pipespan completion SHELL`: a script by which a shell completes commands, options and their choices. It is generated from the
// program's definition, so it cannot differ from it, and contains everything: pressing Tab starts no process.
import type { Command, Option } from 'commander'

export const shells = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof shells)[number]

interface Word {
  readonly text: string
  readonly description: string
}

/** What may follow one command. `path` is the command, such as `tokens list`; empty for the program itself. */
interface Place {
  readonly path: string
  /** Subcommands, and the choices of an argument. */
  readonly commands: readonly Word[]
  readonly options: readonly Word[]
  /** What may follow an option: its choices; none: a file. */
  readonly values: readonly { readonly option: string; readonly words: readonly string[] }[]
  readonly takesFile: boolean
}

/** The script, to be read by the shell at its start. */
export function completionScript(program: Command, shell: Shell): string {
  const places = placesOf(program, '', [])
  const name = program.name()
  return { bash, zsh, fish }[shell](name, places)
}

/** `general`: options of the parent commands, which are accepted here too. */
function placesOf(command: Command, path: string, general: readonly Option[]): Place[] {
  const help = command.createHelp()
  const own = help.visibleCommands(command).filter(one => one.name() !== 'help')
  const options = [...help.visibleOptions(command), ...general]
  const choices = command.registeredArguments.flatMap(({ argChoices = [], description }) =>
    argChoices.map(text => ({ text, description: description })),
  )
  const place: Place = {
    path,
    commands: [...own.map(one => ({ text: one.name(), description: one.description() })), ...choices],
    options: options.flatMap(({ long, description }) =>
      long == null ? [] : [{ text: long, description: description }],
    ),
    values: options.flatMap(valuesOf),
    takesFile: command.registeredArguments.some(one => isFile(one.name())),
  }
  const given = [...command.options.filter(({ long }) => long !== '--version'), ...general]
  return [place, ...own.flatMap(one => placesOf(one, `${path} ${one.name()}`.trim(), given))]
}

function valuesOf({ long, flags, argChoices }: Option): Place['values'] {
  if (long == null) return []
  const takesFile = isFile(/[<[](.+)[>\]]/.exec(flags)?.[1] ?? '')
  return argChoices === undefined && !takesFile ? [] : [{ option: long, words: argChoices ?? [] }]
}

/** Whether an argument or option such as `<file>` takes a path. */
function isFile(name: string): boolean {
  return name === 'file' || name === 'path' || name === 'folder'
}

/** Patterns of a shell's `case` for a word that leads from one place to the next: such as `'tokens list'`, or `' tokens'` at the start. */
function steps(places: readonly Place[]): string {
  return places
    .filter(({ path }) => path !== '')
    .map(({ path }) => (path.includes(' ') ? `'${path}'` : `' ${path}'`))
    .join('|')
}

const textsOf = (words: readonly Word[]): string => words.map(({ text }) => text).join(' ')

function bash(name: string, places: readonly Place[]): string {
  const cases = places.map(
    ({ path, commands, options, values, takesFile }) => `    '${path}')
      commands='${textsOf(commands)}' options='${textsOf(options)}' file=${takesFile ? 'yes' : ''}
      case "$before" in
${values.map(({ option, words }) => `        ${option}) commands='${words.join(' ')}' file=${words.length === 0 ? 'yes' : ''} ;;\n`).join('')}      esac ;;`,
  )
  return `# Load it when bash starts: source <(${name} completion bash)
_${name}() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} path= word commands= options= file=
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$path $word" in ${steps(places)}) path="\${path:+$path }$word" ;; esac
  done
  case "$path" in
${cases.join('\n')}
  esac
  case "$current" in
    -*) COMPREPLY=($(compgen -W "$options" -- "$current")) ;;
    *)
      COMPREPLY=($(compgen -W "$commands" -- "$current"))
      if [ -n "$file" ]; then compopt -o default 2>/dev/null; fi ;;
  esac
}
complete -F _${name} ${name}
`
}

function zsh(name: string, places: readonly Place[]): string {
  const listed = (words: readonly Word[]): string =>
    words.map(({ text, description }) => quoted(`${text}:${description}`, `'\\''`)).join(' ')
  const cases = places.map(
    ({ path, commands, options, values, takesFile }) => `    '${path}')
      commands=(${listed(commands)}) options=(${listed(options)}) file=${takesFile ? 'yes' : ''}
      case "$words[CURRENT-1]" in
${values.map(({ option, words }) => `        ${option}) commands=(${words.join(' ')}) file=${words.length === 0 ? 'yes' : ''} ;;\n`).join('')}      esac ;;`,
  )
  return `#compdef ${name}
# Load it when zsh starts, after compinit: source <(${name} completion zsh)
_${name}() {
  local path_= word file=
  local -a commands options
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$path_ $word" in ${steps(places)}) path_="\${path_:+$path_ }$word" ;; esac
  done
  case "$path_" in
${cases.join('\n')}
  esac
  if [[ "$words[CURRENT]" == -* ]]; then _describe option options
  else
    if (( $#commands )); then _describe command commands; fi
    if [[ -n "$file" ]]; then _files; fi
  fi
}
compdef _${name} ${name}
`
}

function fish(name: string, places: readonly Place[]): string {
  const description = (text: string): string => quoted(text, `\\'`)
  const lines = places.flatMap(({ path, commands, options, values, takesFile }) => {
    const here = `complete -c ${name} -n 'test (__${name}_path) = "${path}"'`
    return [
      ...commands.map(one => `${here} -a ${one.text} -d ${description(one.description)}`),
      ...options.map(one => {
        const value = values.find(({ option }) => option === one.text)
        const given =
          value === undefined ? '' : value.words.length === 0 ? ' -r -F' : ` -x -a '${value.words.join(' ')}'`
        return `${here} -l ${one.text.slice(2)} -d ${description(one.description)}${given}`
      }),
      ...(takesFile ? [`${here} -F`] : []),
    ]
  })
  return `# Load it when fish starts: ${name} completion fish | source
function __${name}_path
  set -l path ''
  for word in (commandline -opc)[2..]
    switch "$path $word"
      case ${steps(places).replaceAll('|', ' ')}
        set path (string trim "$path $word")
    end
  end
  echo $path
end
complete -c ${name} -f
${lines.join('\n')}
`
}

/** One word in single quotes. */
function quoted(text: string, quote: string): string {
  return `'${text.replaceAll("'", quote)}'`
}
