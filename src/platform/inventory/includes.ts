// Lists what the CI configuration of a project's default branch includes: components, templates, and files from other projects and hosts, each with
// its version (the platform's API, "CI Lint"). The list is requested once a week, and after a push that may have changed it (`read-event.ts`).
import { z } from 'zod'
import { collector, day } from './collector.ts'
import { maybe, wireText } from '../rest/wire-field.ts'
import { redact } from '../../lib/secret.ts'

const included = z.object({
  type: maybe(wireText),
  location: maybe(wireText),
  extra: maybe(z.object({ project: maybe(wireText), ref: maybe(wireText) })),
})
const lint = z.object({ includes: maybe(z.array(included.catch({}))) })

export const includes = collector({
  kind: 'includes',
  of: 'projects',
  description:
    'What the CI configuration includes: components, templates and files of other projects, with their versions.',
  paths: ['/projects/:id/ci/lint'],
  every: 7 * day,
  requests:
    '1; also after a push to the default branch that touched the CI file or another YAML file, if `push` is in PIPESPAN_EVENTS',
  role: 'Developer',
  read: async ({ ask, path }) => {
    const { includes: found } = await ask.one(`${path}/ci/lint`, lint)
    const unnamed = (['type', 'location'] as const).find(field => found?.some(one => one[field] === undefined))
    const lacking = found === undefined ? 'includes' : unnamed && `includes.${unnamed}`
    const read = (found ?? []).map(readInclude).filter(one => one !== undefined)
    return {
      // Several files may include the same file, but each include is listed only once.
      all: [...new Map(read.map(one => [JSON.stringify(one), one] as const)).values()],
      problem:
        lacking &&
        `The response about the CI configuration has no usable ${lacking}. Check the version of the platform.`,
    }
  },
  metrics: [
    {
      ...{ name: 'platform.cicd.include', unit: '1' },
      attributes: ['platform.cicd.include.type', 'platform.cicd.include.name', 'platform.cicd.include.version'],
      description:
        '1 for each component, template or file that the CI configuration of the project includes, directly or through others; files of the project itself are left out.',
      points: ({ all }) => all.map(({ type, name, version }) => [1, type, name, version]),
    },
  ],
})

/**
 * Parses one include. Returns undefined for a file from the project itself and for an unknown type. `version` is empty if the include specifies no
 * version.
 */
export function readInclude({
  type: kind,
  location: given = '',
  extra,
}: z.infer<typeof included>): { readonly type: string; readonly name: string; readonly version: string } | undefined {
  if (given === '') return undefined
  const location = given.includes('://') || kind === 'remote' ? withoutSecrets(given) : given
  switch (kind) {
    case 'component': {
      // A component's location is, for example, `git.example.com/group/components/sast@1.2.0`. The version may be a tag, a branch, a revision or
      // `~latest`.
      const at = location.lastIndexOf('@')
      const whole = { type: kind, name: location, version: '' }
      return at <= 0 ? whole : { ...whole, name: location.slice(0, at), version: location.slice(at + 1) }
    }
    case 'file':
      return { type: 'project', name: `${extra?.project ?? ''}:${location}`, version: extra?.ref ?? 'HEAD' }
    case 'template':
    case 'remote':
      return { type: kind, name: location, version: '' }
    default:
      return undefined
  }
}

/**
 * Removes the user, query and fragment from a URL, because they may contain a token. This also works for invalid URLs, such as URLs that contain CI
 * variables.
 */
function withoutSecrets(address: string): string {
  return redact(address.replace(/[?#].*$/s, '').replace(/\/\/[^/]*@/, '//'))
}
