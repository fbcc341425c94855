// The program as it ships, and where all processes of all tests keep what they compiled: a start takes half of the processor time so.
import path from 'node:path'

const root = path.dirname(import.meta.dirname)

export const shipped = path.join(root, 'dist', 'main.js')
export const shippedModules = path.join(root, 'dist', 'modules')
/** A value of NODE_COMPILE_CACHE. */
export const compiled = path.join(root, 'node_modules', '.cache', 'tests-compiled')
