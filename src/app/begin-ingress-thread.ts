// Begins the thread of the webhook door: part of the composition root. It needs nothing but its file, so that the thread can
// load its modules while the main one still loads its own; what it is to do it is told later.
import path from 'node:path'
import { Worker } from 'node:worker_threads'

/** A thread that waits for its orders, and holds up no process that ends without giving any. */
export function beginDoorThread(): Worker {
  const extension = path.extname(import.meta.url)
  const thread = new Worker(new URL(`./ingress-thread${extension}`, import.meta.url), { name: 'webhook door' })
  thread.unref()
  return thread
}
