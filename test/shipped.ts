// The shipped program, and the folder in which the processes of all tests cache their compiled code. The cache halves the CPU time of a start.
import path from 'node:path'
import { isFull } from './full.ts'

const root = path.dirname(import.meta.dirname)

export const shipped = path.join(root, 'dist', 'main.js')
export const shippedModules = path.join(root, 'dist', 'modules')
/** The folder for compiled code, used as the value of NODE_COMPILE_CACHE. */
export const compiled = path.join(root, 'node_modules', '.cache', 'tests-compiled')
/**
 * Node arguments for daemons that run only for seconds. With them, the young generation starts at the size that it would soon reach. Otherwise
 * garbage collection takes a fifth of the CPU time of a start. The long form leaves the size to Node, as operators do.
 */
export const semiSpaceArguments = isFull ? [] : ['--min-semi-space-size=16']
