// The section of --help on environment variables, generated from the table of options.
import { optionSections, type HasOptions } from './options.ts'
import { rowsOf, variablesOf, type ProfileVariables, type Profiles, type Row } from './option.ts'
import { signals } from './otlp-options.ts'

const opening = `Environment variables override the configuration file; a blank one counts as unset. A secret (marked *) can be given as a file: NAME_FILE.`

/** Plain text, with the variable names of one profile. The variables for single signals are only summarized. */
export function environmentHelp(
  profiles: Profiles,
  profile: ProfileVariables,
  features: readonly HasOptions[],
): string {
  const sections = Object.entries(optionSections(profiles, features)).map(([heading, group]) => {
    const lines = rowsOf(group)
      .filter(isGeneral)
      .flatMap(row => linesOf(row, profile))
    return [`${heading}:`, ...lines].join('\n')
  })
  const perSignal = signals.map(signal => `OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_…`).join(', ')
  return [opening, ...sections, `Every OTEL_EXPORTER_OTLP_… setting for one signal alone:\n  ${perSignal}`].join('\n\n')
}

function isGeneral({ path }: Row): boolean {
  return !signals.some(signal => path.startsWith(`otlp.${signal}.`))
}

function linesOf({ option }: Row, profile: ProfileVariables): string[] {
  const [name] = variablesOf(option, profile).slice(-1)
  if (name === undefined) return []
  const { default: standard, unset, description } = option.spec
  const holds = standard ?? unset
  const text = `${description}${holds === undefined ? '' : ` Default: ${holds}.`}`.replaceAll('`', '')
  return [`  ${name}${option.kind.secret ? ' *' : ''}`, `      ${text}`]
}
