// Parses chunks of text into XML elements. The text contains one or more concatenated documents. The parser is lenient: it skips text that is not
// well-formed and reports it once. It supports only XML's five predefined entities and rejects a document type that declares entities.
import sax from 'sax'
import { faultOf, ReportFault } from './report-fault.ts'
import { textOf } from './unpack.ts'
import type { ReportCaps } from './report-fault.ts'

export type Attributes = Readonly<Record<string, string>>

export interface ElementSink {
  /** Called on an XML declaration. A new document begins there, even if elements are still open. */
  document(): void
  open(name: string, attributes: Attributes): void
  text(text: string): void
  close(name: string): void
}

/** Maximum length of an attribute, a comment or a tag, in characters. Longer text between tags is delivered in pieces. */
const maxTokenLength = 1024 * 1024
const maxAttributes = 1_000
const maxFaults = 1_000

/** Matches the errors that the parser reports between two documents in one file. They are ignored. */
const betweenDocuments = /^(?:Inappropriately located doctype declaration|XML declaration encoding)/

/**
 * Reads an artifact and passes its elements to `sink`. `foreign` is called at the end and returns an error if the report is in another format.
 * Returns the first error: the one that stopped reading or, if there is none, the one for text that is not well-formed. Rejects only with an error
 * from the source itself.
 */
export async function readElements(
  source: AsyncIterable<Uint8Array>,
  caps: ReportCaps,
  sink: ElementSink,
  foreign: () => ReportFault | undefined,
): Promise<ReportFault | undefined> {
  // The `sax` library limits the size of its buffers only globally. The global limit can be changed here, because no other file uses the library.
  Object.assign(sax, { MAX_BUFFER_LENGTH: maxTokenLength })
  const parser = sax.parser(true, { strictEntities: true } as sax.SAXOptions)
  let firstFault: ReportFault | undefined
  let sawElement = false
  let attributes = 0
  let length = 0
  let faults = 0

  parser.onerror = error => {
    const message = error.message.split('\n', 1)[0] ?? ''
    if (message.startsWith('Max buffer length')) throw tooLong(parser)
    // After an error the parser continues only if the error is cleared.
    ;(parser as { error: Error | null }).error = null
    if (betweenDocuments.test(message)) return
    faults += 1
    const unfinished = message === 'Unclosed root tag' || message === 'Unexpected end'
    firstFault ??= unfinished
      ? new ReportFault('truncated', `The report ends within line ${parser.line + 1}.`)
      : new ReportFault('malformed', `The report is not well-formed XML in line ${parser.line + 1}.`)
    // Reading stops after this many parse errors, because handling each one takes time, and a report with so many errors is useless.
    if (faults > maxFaults) throw firstFault
  }
  parser.onopentagstart = () => {
    attributes = 0
    length = 0
  }
  parser.onattribute = ({ name, value }) => {
    attributes += 1
    length += name.length + value.length
    if (attributes > maxAttributes || length > maxTokenLength) throw tooLong(parser)
  }
  parser.onopentag = ({ name, attributes: own }) => {
    sawElement = true
    // Without this reset, the parser would report everything after the first document as an error.
    Object.assign(parser, { closedRoot: false })
    sink.open(name, own as Attributes)
  }
  parser.onclosetag = name => sink.close(name)
  parser.ontext = text => sink.text(text)
  parser.oncdata = text => sink.text(text)
  parser.oncomment = comment => {
    if (comment.length > maxTokenLength) throw tooLong(parser)
  }
  parser.ondoctype = declared => {
    if (declared.includes('<!ENTITY')) {
      throw new ReportFault('entities', `The report declares entities in line ${parser.line + 1}.`)
    }
  }
  parser.onprocessinginstruction = ({ name }) => {
    if (name.toLowerCase() === 'xml') sink.document()
  }

  return faultOf(async () => {
    // The text is written in chunks of a few KiB, because the parser checks its buffer sizes only between chunks.
    for await (const text of textOf(source, caps)) parser.write(text)
    parser.close()
    if (!sawElement) throw new ReportFault('not_xml', 'The report is not XML.')
    const fault = foreign() ?? firstFault
    if (fault !== undefined) throw fault
  })
}

function tooLong(parser: sax.SAXParser): ReportFault {
  return new ReportFault(
    'too_large',
    `The report has an attribute or a comment that is too long, in line ${parser.line + 1}.`,
  )
}
