// Keeps the heaps of all threads near what is live in them. Left alone, V8 lets garbage grow to several times that where the machine has
// room, and a process that handles much for a short time each has much garbage.
import { setFlagsFromString } from 'node:v8'

/**
 * To be called once the program is up: by then the young generations have the size that they keep, some 4 MiB for each half. From then on
 * they grow no more, and the old ones are collected when they have grown by half. Both flags are read whenever a heap would grow;
 * where a later V8 does not know them, nothing happens.
 */
export function keepHeapsSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--heap-growing-percent=50')
}
