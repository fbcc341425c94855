// Under which circumstances this process works: what an earlier one died of may do with a newer version or with more memory.
import { getHeapStatistics } from 'node:v8'
import { version } from '../../lib/version.ts'

export const circumstances = `${version}, ${Math.round(getHeapStatistics().heap_size_limit / 2 ** 20)} MiB`
