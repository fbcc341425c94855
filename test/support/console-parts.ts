// What the features add to the console, described without a daemon: nothing of it is asked for anything.
import { features } from '../../src/features.ts'
import type { PagesParts } from '../../src/console/ports.ts'

const parts = await Promise.all(features.map(async one => one.console?.({} as never, {} as never)))

export const consoleParts = parts.filter(part => part !== undefined)

/** What the description of pages and routes needs. */
export const noParts = { fillings: consoleParts.flatMap(({ fills = [] }) => fills) } as unknown as PagesParts
