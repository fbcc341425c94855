// Lists what the CI configuration of a project's default branch includes: components, templates, files of other projects and of other hosts, each
// with its version (the platform's API, "CI Lint"). Asked once a week, and after a push that may have changed it (`read-event.ts`).
import { z } from 'zod'
import { hour, pathOf, point, type Collector } from './collector.ts'
import { maybe, wireText } from '../rest/wire-field.ts'
import { redact } from '../../lib/secret.ts'

const included = z.object({
  type: maybe(wireText),
  location: maybe(wireText),
  extra: maybe(z.object({ project: maybe(wireText), ref: maybe(wireText) })),
})
const lint = z.object({ includes: maybe(z.array(included.catch({}))) })

const week = 7 * 24 * hour
const type = 'platform.cicd.include.type'
const name = 'platform.cicd.include.name'
const version = 'platform.cicd.include.version'

export const includes: Collector = {
  kind: 'includes',
  of: 'projects',
  description:
    'What the CI configuration includes: components, templates and files of other projects, with their versions.',
  paths: ['/projects/:id/ci/lint'],
  every: week,
  requests:
    '1; also after a push to the default branch that touched the CI file or another YAML file, if `push` is in PIPESPAN_EVENTS',
  atLeast: 1,
  role: 'Developer',
  metrics: [
    {
      name: 'platform.cicd.include',
      ...{ unit: '1', number: 'int', attributes: [type, name, version] },
      description:
        '1 for each component, template or file that the CI configuration of the project includes, directly or through others; files of the project itself are left out.',
    },
  ],
  collect: async ({ ask, owner }) => {
    const { includes: found } = await ask.one(`${pathOf(owner)}/ci/lint`, lint)
    if (found === undefined) return { points: [], problem: without('includes') }
    const unnamed = (['type', 'location'] as const).find(field => found.some(one => one[field] === undefined))
    const points = new Map(
      found.flatMap(one => {
        const read = readInclude(one)
        if (read === undefined) return []
        const attributes = { [type]: read.type, [name]: read.name, [version]: read.version }
        return [[JSON.stringify(attributes), point('platform.cicd.include', 1, attributes)] as const]
      }),
    )
    return { points: [...points.values()], problem: unnamed && without(`includes.${unnamed}`) }
  },
}

function without(field: string): string {
  return `The answer about the CI configuration has no usable ${field}. Check the version of the platform.`
}

/** Undefined for a file of the project itself, and for what is not known. `version` is empty where there is none. */
export function readInclude({
  type: kind,
  location: given = '',
  extra,
}: z.infer<typeof included>): { readonly type: string; readonly name: string; readonly version: string } | undefined {
  if (given === '') return undefined
  const location = given.includes('://') || kind === 'remote' ? withoutSecrets(given) : given
  switch (kind) {
    case 'component': {
      // `git.example.com/group/components/sast@1.2.0`; the version may be a tag, a branch, a revision or `~latest`.
      const at = location.lastIndexOf('@')
      const whole = { type: kind, name: location, version: '' }
      return at <= 0 ? whole : { ...whole, name: location.slice(0, at), version: location.slice(at + 1) }
    }
    case 'file':
      return { type: 'project', name: `${extra?.project ?? ''}:${location}`, version: extra?.ref ?? 'HEAD' }
    case 'template':
      return { type: kind, name: location, version: '' }
    case 'remote':
      return { type: kind, name: location, version: '' }
    default:
      return undefined
  }
}

/** Without user, query and fragment, which may hold a token; also an address that is not valid, such as one with variables. */
function withoutSecrets(address: string): string {
  return redact(address.replace(/[?#].*$/s, '').replace(/\/\/[^/]*@/, '//'))
}
