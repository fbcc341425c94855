// Version and memory of this process: an item that crashed an earlier process may succeed in a newer version or with more memory.
import { getHeapStatistics } from 'node:v8'
import { version } from '../../lib/version.ts'

export const circumstances = `${version}, ${Math.round(getHeapStatistics().heap_size_limit / 2 ** 20)} MiB`
