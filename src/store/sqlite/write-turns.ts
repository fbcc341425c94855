// Whose turn it is to write: two connections of one process, on two threads, share an SQLite file. SQLite itself lets one write
// at a time, but whoever finds it busy sleeps, and whoever has just written begins again before the other wakes up.
//
//   house (main thread)    take: waits while the door wants, then for the lock; blocks, since its transactions do too
//   door (webhook thread)  take: says that it wants, waits for the lock; its event loop goes on meanwhile
//
// The door goes first, and its transactions are short. Turns are a courtesy, not a safeguard: after `patience` either goes on
// without, and SQLite's own lock decides.

export interface WriteTurns {
  /** Memory that both threads share. */
  readonly shared: SharedArrayBuffer
  /** For the house. */
  take(): void
  /** For the door. */
  wantAndTake(): Promise<void>
  /** For who took it, or went on without. */
  give(): void
}

/** Places in the shared memory: 1 while somebody writes; 1 while the door wants to. */
const lock = 0
const wanted = 1
/** A thread that takes longer has died or hangs, ms. */
const patience = 2_000

export function writeTurns(shared = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT)): WriteTurns {
  const places = new Int32Array(shared)
  /** Who went on without a turn has none to give. */
  let isMine = false
  const tryLock = (): boolean => (isMine = Atomics.compareExchange(places, lock, 0, 1) === 0)
  return {
    shared,
    take: () => {
      const end = performance.now() + patience
      while (Atomics.load(places, wanted) === 1 && performance.now() < end) Atomics.wait(places, wanted, 1, patience)
      while (!tryLock() && performance.now() < end) Atomics.wait(places, lock, 1, patience)
    },
    wantAndTake: async () => {
      const end = performance.now() + patience
      Atomics.store(places, wanted, 1)
      while (!tryLock() && performance.now() < end) await Atomics.waitAsync(places, lock, 1, patience).value
      Atomics.store(places, wanted, 0)
      Atomics.notify(places, wanted)
    },
    give: () => {
      if (!isMine) return
      isMine = false
      Atomics.store(places, lock, 0)
      Atomics.notify(places, lock)
    },
  }
}
