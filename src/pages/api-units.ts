// The units of the JSON API's answers.
import { z } from 'zod'

export const millis = z.number().describe('Milliseconds of Unix time.')
export const ms = z.number().describe('Milliseconds.')
