// Readiness of the store: whether it would accept another delivery.
import { StoreError } from '../../../lib/fault.ts'
import type { Store } from '../ports/store.ts'

/** Throws StoreError if the store cannot write, or has reached its size limit. */
export async function proveRoom({ proveWritable, pruning }: Pick<Store, 'proveWritable' | 'pruning'>): Promise<void> {
  await proveWritable()
  if ((await pruning.fullness()) >= 1) throw limitReached()
}

export function limitReached(): StoreError {
  return new StoreError(
    'The store has reached PIPESPAN_STORE_MAX_SIZE.',
    'Raise it, or shorten PIPESPAN_RETENTION: until there is room, webhooks are refused.',
  )
}
