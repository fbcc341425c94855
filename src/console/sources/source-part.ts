// What features add to the page of sources: facts about what they ask of the platform, and the fields of the JSON API's answer that these come from.
import type { z } from 'zod'
import { Slot } from '../../lib/slot.ts'
import type { Content } from '../layout/html.ts'
import type { Flow } from '../overview/flow.ts'
import type { PagesSources } from '../ports.ts'

export interface SourcePart<Read extends object = object> {
  /** The shape of `Read`: fields of `discovery`. */
  readonly fields: z.ZodRawShape
  readonly read: (parts: Pick<PagesSources, 'repositories'>) => Promise<Read>
  /** `clients`: what clients of the platform's API have counted, by name. */
  readonly facts: (read: Read, clients: Flow['apiClients']) => readonly (readonly [name: string, value: Content])[]
}

export const sourceParts = new Slot<SourcePart>()

/** Types the facts by what is read. */
export function onSources<Read extends object>(part: SourcePart<Read>) {
  return sourceParts.with(part as unknown as SourcePart)
}
