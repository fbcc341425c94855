// Opens the store for the thread that puts deliveries into its inbox. It imports no more of the store than that needs, because the thread keeps in
// memory what it has loaded.
import { hostClocks, timeoutMs, type OpenOptions, type StoreLocation } from './store-location.ts'
import { openSqliteInboxWriter } from './sqlite/deliveries/writer.ts'
import { proveRoom } from './maintenance/writable.ts'
import type { InboxWriter } from './ports/inbox.ts'
import type { DeliveryPositions } from './sqlite/deliveries/positions.ts'

/** The store must be open already. */
export async function openInboxWriter(
  location: StoreLocation,
  options: OpenOptions & { readonly positions: DeliveryPositions },
): Promise<InboxWriter> {
  if (location.engine === 'sqlite') {
    return openSqliteInboxWriter(location.path, { ...options, ...hostClocks }, options.positions)
  }
  const { openPostgres } = await import('./postgres/open-postgres.ts')
  const store = await openPostgres(location.url.reveal(), {
    ...options,
    daemon: 'ingress',
    timeoutMs: timeoutMs.ingress,
  })
  return {
    // On several connections, so that one that hangs does not block the others.
    concurrency: 4,
    put: async deliveries => store.inbox.put(deliveries),
    proveWritable: async () => proveRoom(store),
    close: async () => store.close(),
  }
}
