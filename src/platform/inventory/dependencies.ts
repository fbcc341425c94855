// Collects the bill of materials of a project's default branch once a day: how many components each ecosystem has, and how many components were added
// and removed since the previous bill (REST document, "Dependency list export"). The bill itself is not exported.
//
//   POST …/dependency_list_exports ─► 202 while the platform makes it ─► 200 ─► download ─► counts, digest, difference
//
// The ID of an unfinished export is stored, so that the collector continues with it after a restart.
import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { z } from 'zod'
import { hour, pathOf, point, type Collector, type Round } from './collector.ts'
import type { Collected } from '../../model/inventory.ts'
import { maybe, wireFlag, wireId, wireList, wireText } from '../rest/wire-field.ts'
import { PlatformError } from '../port.ts'

const begun = z.object({ id: wireId })
/** While the export is being made (202), older platforms answer with a bare number or without a body. */
const state = z.union([z.object({ has_finished: maybe(wireFlag) }), z.number(), z.null()])
const part = maybe(wireText)
const component = z.object({ name: part, version: part, group: part, purl: part })
type Component = z.infer<typeof component>
/** A bill in CycloneDX 1.6 JSON. Only its components are read. */
const bill = z.object({ components: maybe(wireList) })

const memoryShape = z.object({
  /** The unfinished export, and how often it was checked. `isSecond`: the platform no longer had the first one. */
  export: z.object({ id: z.number(), looks: z.number(), isSecond: z.boolean().optional() }).optional(),
  /** A short hash of each component of the last bill, and a digest over all of these hashes. */
  digest: z.string().optional(),
  known: z.array(z.string()).optional(),
})
type Memory = z.infer<typeof memoryShape>

const ecosystem = 'platform.sbom.ecosystem'
const nextTry =
  'Pipespan makes another one tomorrow. If this lasts, check whether the platform keeps and serves such exports.'
/** Interval between two checks of an unfinished export, ms. */
const checkInterval = 15_000
/** After this many checks the collector gives up until the next day. */
const maxChecks = 40
/** ms until a new export is started after one that failed. The gauges keep their values until then. */
const nextDay = 24 * hour
/** Maximum number of components that are compared with the previous bill's. */
const maxComponents = 50_000
/** Number of components that are counted in one turn of the event loop. */
const componentsPerTurn = 500

export const dependencies: Collector = {
  kind: 'dependencies',
  of: 'projects',
  description: 'Components of the bill of materials of the default branch, and what changed since the last one.',
  paths: [
    'POST /projects/:id/dependency_list_exports',
    '/dependency_list_exports/:id',
    '/dependency_list_exports/:id/download',
  ],
  every: 24 * hour,
  requests: '2, and 1 for every 15 s that the platform takes',
  atLeast: 3,
  role: 'Developer, with a token of scope `api`; Ultimate',
  metrics: [
    {
      name: 'platform.sbom.components',
      ...{ unit: '{component}', number: 'int', attributes: [ecosystem] },
      description: 'Components of the bill of materials of the default branch, by ecosystem.',
    },
  ],
  collect: async round => {
    const parsed = memoryShape.safeParse(round.memory)
    const memory = parsed.success ? parsed.data : {}
    return memory.export === undefined ? startExport(round, memory) : checkExport(round, memory, memory.export)
  },
}

async function startExport({ ask, owner }: Round, memory: Memory, isSecond = false): Promise<Collected> {
  const wish = { export_type: 'cyclonedx_1_6_json', send_email: false }
  const { id } = await ask.post(`${pathOf(owner)}/dependency_list_exports`, wish, begun)
  return { points: [], memory: { ...memory, export: { id, looks: 0, isSecond } }, goesOnIn: checkInterval }
}

async function checkExport(
  round: Round,
  memory: Memory,
  { id, looks, isSecond = false }: NonNullable<Memory['export']>,
): Promise<Collected> {
  const { ask } = round
  const { export: _, ...last } = memory
  const path = `/dependency_list_exports/${id}`
  try {
    const answer = await ask.one(path, state)
    if (answer === null || typeof answer === 'number' || answer.has_finished !== true) {
      if (looks < maxChecks)
        return { points: [], memory: { ...last, export: { id, looks: looks + 1, isSecond } }, goesOnIn: checkInterval }
      const problem = `The bill of materials was not finished (has_finished) in ${maxChecks} checks. ${nextTry}`
      return { points: [], memory: last, goesOnIn: nextDay, problem }
    }
    const { components } = await ask.file(`${path}/download`, bill)
    if (components !== undefined) return await collectedFrom(components, last, id)
    return {
      points: [],
      memory: last,
      goesOnIn: nextDay,
      problem: `The bill of materials has no components. ${nextTry}`,
    }
  } catch (error) {
    if (!(error instanceof PlatformError) || error.kind !== 'not-found') throw error
    // The export expired, or belongs to another token. If the platform loses another one, a third would not help.
    if (!isSecond) return startExport(round, last, true)
    const problem = `The bill of materials is gone before it was read (404 at ${error.endpoint}). ${nextTry}`
    return { points: [], memory: last, goesOnIn: nextDay, problem }
  }
}

async function collectedFrom(components: readonly unknown[], last: Memory, exportId: number): Promise<Collected> {
  const counts = new Map<string, number>()
  const hashes = new Set<string>()
  for (const [index, item] of components.entries()) {
    if (index % componentsPerTurn === componentsPerTurn - 1) await nextTurn()
    const { data } = component.safeParse(item)
    if (data === undefined) continue
    counts.set(ecosystemOf(data), (counts.get(ecosystemOf(data)) ?? 0) + 1)
    hashes.add(createHash('sha256').update(nameOf(data)).digest('base64').slice(0, 11))
  }
  await nextTurn()
  const sorted = [...hashes].sort()
  const digest = createHash('sha256').update(sorted.join('\n')).digest('hex')
  await nextTurn()
  const known = sorted.slice(0, maxComponents)
  const before = last.known && new Set(last.known)
  const now = new Set(known)
  return {
    points: [...counts].map(([name, count]) => point('platform.sbom.components', count, { [ecosystem]: name })),
    memory: { digest, known },
    ...(digest !== last.digest && {
      events: [
        {
          // The digest would be a wrong key: when a change is reverted, that is a new change with an old digest.
          key: String(exportId),
          name: 'platform.sbom',
          body: `${sorted.length} components`,
          attributes: {
            'platform.sbom.digest': `sha256:${digest}`,
            'platform.sbom.components': sorted.length,
            ...(before !== undefined && {
              'platform.sbom.added': known.filter(one => !before.has(one)).length,
              'platform.sbom.removed': [...before].filter(one => !now.has(one)).length,
            }),
          },
        },
      ],
    }),
  }
}

/** The component's package URL, such as `pkg:npm/left-pad@1.3.0`; without one, its group, name and version. */
function nameOf({ purl, group, name, version }: Component): string {
  return purl ?? [group, name, version].filter(part => part !== undefined).join('/')
}

function ecosystemOf({ purl }: Component): string {
  return /^pkg:([a-z0-9.+-]+)\//i.exec(purl ?? '')?.[1]?.toLowerCase() ?? 'unknown'
}
