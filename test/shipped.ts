// The program as it ships, and where all processes of all tests keep what they compiled: a start takes half of the processor time so.
import path from 'node:path'
import { isFull } from './full.ts'

const root = path.dirname(import.meta.dirname)

export const shipped = path.join(root, 'dist', 'main.js')
export const shippedModules = path.join(root, 'dist', 'modules')
/** A value of NODE_COMPILE_CACHE. */
export const compiled = path.join(root, 'node_modules', '.cache', 'tests-compiled')
/**
 * Arguments of Node for whole daemons, which live for seconds: room for what is young from the beginning, as much as they have soon anyway. Without it
 * the collector takes a fifth of the processor time of a start. The long form leaves it to Node, as operators do.
 */
export const roomFromTheStart = isFull ? [] : ['--min-semi-space-size=16']
