// Generates the configuration reference from the option table, with one Markdown row per option.
import {
  Each,
  Option,
  rowsOf,
  variablesOf,
  yamlKey,
  type Group,
  type Profiles,
  type Row,
} from '../../src/daemon/configuration/option.ts'
import { features } from '../../src/features.ts'
import { optionSections } from '../../src/daemon/configuration/options.ts'

const introduction = `# Configuration reference

Generated from the table of options in the code. Change it there.

- A setting is an environment variable, a key of a YAML file (\`PIPESPAN_CONFIG\`), or both. Variables override the file, which overrides the default. A blank variable counts as unset.
- \`pipespan config check [FILE]\` shows all invalid values at once, and then settings that contradict each other. With \`--show\` it also shows the effective settings and where they come from.
- A secret can be given as a file instead: append \`_FILE\` to the variable or \`_file\` to the key. The file contains the value, and is read again when it changes.
- SIGHUP reloads the configuration; an invalid configuration changes nothing. Settings that are marked *Needs a restart* keep their running value, and the log names them.
- Unknown keys are errors. Unknown \`PIPESPAN_…\` variables are warnings.
- A list is a YAML list, or one comma-separated string. A variable replaces the file's whole list or mapping.
- Durations are integers with a unit (\`ms\`, \`s\`, \`m\`, \`h\`, \`d\`), and so are sizes (\`KiB\`, \`MiB\`, \`GiB\`). Patterns are globs: \`*\` within a path segment, \`**\` across segments, \`{a,b}\` for alternatives.
- Relative paths start at the working directory.
- YAML anchors and aliases are not supported.
`

const afterwards = `## Destinations

The \`otlp\` settings define the destination \`default\`. It exists if one of their endpoints is set, or if no \`destinations\` are listed. If there are other destinations, \`default\` only receives the signals for which it has an endpoint. The
timeouts, compression and TLS files in \`otlp\` apply to all destinations. Headers and bearer tokens are only sent to the destination for which they are configured.
`

/** Returns the content of config/REFERENCE.md. */
export function reference(profiles: Profiles): string {
  const sections = Object.entries<Group>(optionSections(profiles, features)).map(([heading, group]) => {
    const lists = eachesOf(group).flatMap(([path, each]) => eachSection(path, each))
    const rows = rowsOf(group).filter(({ path }) => !path.includes('[]'))
    return [`## ${heading}\n`, tableOf(rows, profiles), ...lists].join('\n')
  })
  return [introduction, ...sections, afterwards].join('\n')
}

/** Returns the options in a group that are lists of mappings, with their paths. */
function eachesOf(group: Group, prefix = ''): [string, Each][] {
  return Object.entries(group).flatMap(([key, entry]): [string, Each][] => {
    const path = prefix + yamlKey(key)
    if (entry instanceof Option) return []
    return entry instanceof Each ? [[path, entry]] : eachesOf(entry, `${path}.`)
  })
}

function eachSection(key: string, each: Each): string[] {
  const header = '| key | value | default | meaning |\n|---|---|---|---|'
  const rows = rowsOf(each.item).map(({ path, option }) => {
    const fallback = option.spec.required === true ? 'required' : defaultOf(option)
    return `| ${keysOf(path, option)} | ${option.kind.noun} | ${fallback} | ${option.spec.description}${notesOf(option)} |`
  })
  return [`### ${key}\n`, `${each.description} In YAML only, a list of mappings:\n`, header, ...rows, '']
}

function tableOf(rows: readonly Row[], profiles: Profiles): string {
  const lines = rows.map(({ path, option }) => {
    const { kind, spec } = option
    const key = spec.variableOnly === true ? '' : keysOf(path, option)
    const example = spec.example === undefined ? '' : ` Example: \`${spec.example}\`.`
    return `| ${key} | ${variableCell(option, profiles)} | ${kind.noun} | ${defaultOf(option)} | ${spec.description}${example}${notesOf(option)} |`
  })
  return ['| key | variable | value | default | meaning |', '|---|---|---|---|---|', ...lines, ''].join('\n')
}

function notesOf({ spec }: Option): string {
  const restart = spec.restart === 'presence' ? ' *Adding or removing it needs a restart.*' : ' *Needs a restart.*'
  const removed = spec.protects === 'each' ? 'removes neither it nor any of its entries' : 'does not remove it'
  const protection = spec.protects === undefined ? '' : ` *A reload ${removed}.*`
  return `${spec.restart === undefined ? '' : restart}${protection}`
}

function keysOf(path: string, { kind }: Option): string {
  return kind.secret ? `\`${path}\`, \`${path}_file\`` : `\`${path}\``
}

function variableCell(option: Option, profiles: Profiles): string {
  const namesUnder = Object.entries(profiles).map(([name, profile]) => {
    const names = variablesOf(option, profile).flatMap(own => (option.kind.secret ? [own, `${own}_FILE`] : [own]))
    return { name, listed: names.map(own => `\`${own}\``).join(', ') }
  })
  const general = namesUnder.find(({ name }) => name === 'generic')?.listed ?? ''
  const others = namesUnder.filter(({ listed }) => listed !== general)
  return [general, ...others.map(({ name, listed }) => `${listed} under profile ${name}`)].join('; ')
}

function defaultOf({ spec }: Option): string {
  return spec.default === undefined ? (spec.unset ?? 'none') : `\`${spec.default}\``
}
