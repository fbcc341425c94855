// Checks the templates in the headers of destinations, such as `tenant-{group}`: their names, and that a value depends on the project alone, as a
// request has one set of headers for all that it carries.
import { namesIn } from '../../lib/template.ts'
import type { Config } from './options.ts'
import type { ConfigFault, FaultOf, Wrong } from './config-fault.ts'

type Rule = Config['attributes']['rules'][number]

export function wrongHeaderTemplates({ destinations, attributes }: Config, faultOf: FaultOf): ConfigFault[] {
  return destinations.flatMap(({ headers }, index) => {
    const values = [...(headers.current()?.values() ?? [])]
    return [...new Set(values.flatMap(value => namesIn(value.reveal())))].flatMap(name => {
      const wrong = wrongTemplate(name, attributes.rules)
      return wrong === undefined ? [] : [faultOf(`destinations[${index}].headers`, wrong.what, wrong.remedy)]
    })
  })
}

function wrongTemplate(name: string, rules: readonly Rule[]): Wrong | undefined {
  if (name === 'group' || name === 'project.id' || name === 'platform') return undefined
  if (!name.startsWith('own.')) {
    return {
      what: `{${name}} is no template.`,
      remedy: 'Use {platform}, {group}, {project.id} or {own.NAME} with an attribute of attributes.rules.',
    }
  }
  const own = name.slice('own.'.length)
  // Despite its type, what a rule sets is undefined if it could not be read. It has its own fault.
  const setters = rules.filter(({ set }) => Object.hasOwn((set as Rule['set'] | undefined) ?? {}, own))
  if (setters.length === 0) {
    return { what: `{${name}} has no value: no rule sets ${own}.`, remedy: `Set ${own} in attributes.rules.` }
  }
  if (setters.every(isOfProject(own))) return undefined
  return {
    what: `{${name}} depends on more than the project.`,
    remedy: `Set ${own} by rules without branches, sources and jobs, and to a text, not from a label or a variable.`,
  }
}

function isOfProject(name: string): (rule: Rule) => boolean {
  return ({ set, branches, sources, jobs }) =>
    typeof set[name] === 'string' &&
    branches === undefined &&
    [sources, jobs].every(({ include = [], exclude = [] }) => include.length + exclude.length === 0)
}
