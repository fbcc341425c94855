// Collects the bill of materials of a project's default branch once a day: how many components each ecosystem has, and how many components were added
// and removed since the previous bill (REST document, "Dependency list export"). The bill itself is not exported.
//
//   POST …/dependency_list_exports ─► 202 while the platform builds it ─► 200 ─► download ─► counts, digest, difference
//
// The ID of an unfinished export is stored, so that the collector resumes it after a restart.
import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { z } from 'zod'
import { collector, day, type Round } from './collector.ts'
import type { Collected } from '../../model/inventory.ts'
import { maybe, wireFlag, wireId, wireList, wireText } from '../rest/wire-field.ts'
import { PlatformError } from '../port.ts'

const begun = z.object({ id: wireId })
/** While the platform is still building the export, it responds with 202. Older versions send a bare number or no body. */
const state = z.union([z.object({ has_finished: maybe(wireFlag) }), z.number(), z.null()])
const part = maybe(wireText)
const component = z.object({ name: part, version: part, group: part, purl: part })
type Component = z.infer<typeof component>
/** A bill of materials in CycloneDX 1.6 JSON. Only its components are read. */
const bill = z.object({ components: maybe(wireList) })

const memoryShape = z.object({
  /** The unfinished export, and how many times it was checked. `isSecond`: true if it replaces a first export that the platform had lost. */
  export: z.object({ id: z.number(), looks: z.number(), isSecond: z.boolean().optional() }).optional(),
  /** A short hash of each component in the last bill of materials, and a digest of all these hashes. */
  digest: z.string().optional(),
  known: z.array(z.string()).optional(),
})
type Memory = z.infer<typeof memoryShape>
type Export = NonNullable<Memory['export']>

/** The result of the collector. `counts`: number of components by ecosystem, set once the bill of materials has been read. */
type Answer = Omit<Collected, 'points'> & { readonly counts?: ReadonlyMap<string, number> }

const nextTry =
  'Pipespan will request a new export tomorrow. If this persists, check whether the platform keeps and serves such exports.'
/** How long to wait before checking again whether an export is finished, ms. */
const checkInterval = 15_000
/** Maximum number of checks for one export. After that, the collector waits until the next day. */
const maxChecks = 40
/** Maximum number of components that are compared with the previous bill of materials. */
const maxComponents = 50_000
/** Number of components that are hashed per turn of the event loop. */
const componentsPerTurn = 500

export const dependencies = collector({
  kind: 'dependencies',
  of: 'projects',
  description: 'Components of the bill of materials of the default branch, and what changed since the last one.',
  paths: [
    'POST /projects/:id/dependency_list_exports',
    '/dependency_list_exports/:id',
    '/dependency_list_exports/:id/download',
  ],
  every: day,
  requests: '2, and 1 for every 15 s that the platform needs to finish it',
  atLeast: 3,
  role: 'Developer, with a token of scope `api`; Ultimate',
  read: async (round): Promise<Answer> => {
    const { data = {} } = memoryShape.safeParse(round.memory)
    const { export: unfinished, ...last } = data
    return unfinished === undefined ? startExport(round, last) : checkExport(round, last, unfinished)
  },
  metrics: [
    {
      ...{ name: 'platform.sbom.components', unit: '{component}', attributes: ['platform.sbom.ecosystem'] },
      description: 'Components of the bill of materials of the default branch, by ecosystem.',
      points: ({ counts = new Map<string, number>() }) => [...counts].map(([name, count]) => [count, name]),
    },
  ],
})

async function startExport({ ask, path }: Round, last: Memory, isSecond = false): Promise<Answer> {
  const wish = { export_type: 'cyclonedx_1_6_json', send_email: false }
  const { id } = await ask.post(`${path}/dependency_list_exports`, wish, begun)
  return { memory: { ...last, export: { id, looks: 0, isSecond } }, continueInMs: checkInterval }
}

async function checkExport(round: Round, last: Memory, { id, looks, isSecond = false }: Export): Promise<Answer> {
  /** If an export fails, the gauges keep their values until the next day. */
  const failed = (what: string): Answer => ({ memory: last, continueInMs: day, problem: `${what} ${nextTry}` })
  const path = `/dependency_list_exports/${id}`
  try {
    const answer = await round.ask.one(path, state)
    if (answer === null || typeof answer === 'number' || answer.has_finished !== true) {
      if (looks >= maxChecks)
        return failed(`The bill of materials was not finished (has_finished) after ${maxChecks} checks.`)
      return { memory: { ...last, export: { id, looks: looks + 1, isSecond } }, continueInMs: checkInterval }
    }
    const { components } = await round.ask.file(`${path}/download`, bill)
    return components === undefined
      ? failed('The bill of materials has no components.')
      : await answerOf(components, last, id)
  } catch (error) {
    if (!(error instanceof PlatformError) || error.kind !== 'not-found') throw error
    // The export expired, or it belongs to another token. If the platform loses the second export too, a third export would not help.
    if (!isSecond) return startExport(round, last, true)
    return failed(`The bill of materials was gone before it was read (404 at ${error.endpoint}).`)
  }
}

async function answerOf(components: readonly unknown[], last: Memory, exportId: number): Promise<Answer> {
  const counts = new Map<string, number>()
  const hashes = new Set<string>()
  for (const [index, item] of components.entries()) {
    if (index % componentsPerTurn === componentsPerTurn - 1) await nextTurn()
    const { data } = component.safeParse(item)
    if (data === undefined) continue
    const ecosystem = /^pkg:([a-z0-9.+-]+)\//i.exec(data.purl ?? '')?.[1]?.toLowerCase() ?? 'unknown'
    counts.set(ecosystem, (counts.get(ecosystem) ?? 0) + 1)
    hashes.add(createHash('sha256').update(nameOf(data)).digest('base64').slice(0, 11))
  }
  const sorted = [...hashes].sort()
  const digest = createHash('sha256').update(sorted.join('\n')).digest('hex')
  const known = sorted.slice(0, maxComponents)
  const memory = { digest, known }
  if (digest === last.digest) return { counts, memory }
  const before = new Set(last.known)
  const now = new Set(known)
  const attributes = {
    'platform.sbom.digest': `sha256:${digest}`,
    'platform.sbom.components': sorted.length,
    ...(last.known !== undefined && {
      'platform.sbom.added': known.filter(one => !before.has(one)).length,
      'platform.sbom.removed': [...before].filter(one => !now.has(one)).length,
    }),
  }
  // The digest of the components cannot be the event's key. If a change is reverted, the digest is an old one, but the change is new.
  const event = { key: String(exportId), name: 'platform.sbom', body: `${sorted.length} components`, attributes }
  return { counts, memory, events: [event] }
}

/** The component's package URL, such as `pkg:npm/left-pad@1.3.0`. If it has none, its group, name and version are used. */
function nameOf({ purl, group, name, version }: Component): string {
  return purl ?? [group, name, version].filter(one => one !== undefined).join('/')
}
