// The OTLP messages for traces and logs that a backend receives and sends (opentelemetry-proto v1), as protobufjs types.
import protobuf from 'protobufjs'

/** The messages have the field names and numbers of opentelemetry-proto. The packages are merged into one, and google.rpc.Status has no `details`. */
const definitions = `
syntax = "proto3";

message AnyValue {
  oneof value {
    string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4;
    ArrayValue array_value = 5; KeyValueList kvlist_value = 6; bytes bytes_value = 7;
  }
}
message ArrayValue { repeated AnyValue values = 1; }
message KeyValueList { repeated KeyValue values = 1; }
message KeyValue { string key = 1; AnyValue value = 2; }
message Scope { string name = 1; string version = 2; repeated KeyValue attributes = 3; uint32 dropped_attributes_count = 4; }
message Resource { repeated KeyValue attributes = 1; uint32 dropped_attributes_count = 2; }

message TraceRequest { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; string schema_url = 3; }
message ScopeSpans { Scope scope = 1; repeated Span spans = 2; string schema_url = 3; }
message Span {
  bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; bytes parent_span_id = 4; fixed32 flags = 16;
  string name = 5; int32 kind = 6; fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8;
  repeated KeyValue attributes = 9; uint32 dropped_attributes_count = 10;
  repeated Event events = 11; uint32 dropped_events_count = 12;
  repeated Link links = 13; uint32 dropped_links_count = 14; Status status = 15;
  message Event {
    fixed64 time_unix_nano = 1; string name = 2; repeated KeyValue attributes = 3; uint32 dropped_attributes_count = 4;
  }
  message Link {
    bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; repeated KeyValue attributes = 4;
    uint32 dropped_attributes_count = 5; fixed32 flags = 6;
  }
  message Status { string message = 2; int32 code = 3; }
}

message LogsRequest { repeated ResourceLogs resource_logs = 1; }
message ResourceLogs { Resource resource = 1; repeated ScopeLogs scope_logs = 2; string schema_url = 3; }
message ScopeLogs { Scope scope = 1; repeated LogRecord log_records = 2; string schema_url = 3; }
message LogRecord {
  fixed64 time_unix_nano = 1; fixed64 observed_time_unix_nano = 11; int32 severity_number = 2; string severity_text = 3;
  AnyValue body = 5; repeated KeyValue attributes = 6; uint32 dropped_attributes_count = 7; fixed32 flags = 8;
  bytes trace_id = 9; bytes span_id = 10; string event_name = 12;
}

message ExportResponse { PartialSuccess partial_success = 1; }
message PartialSuccess { int64 rejected = 1; string error_message = 2; }
message RpcStatus { int32 code = 1; string message = 2; }
`

/** The protobufjs root. Tests add further message types to it, which refer to these messages. */
export const { root } = protobuf.parse(definitions)

/** The message type ExportTraceServiceRequest. */
export const traceRequest = root.lookupType('TraceRequest')
/** The message type ExportLogsServiceRequest. */
export const logsRequest = root.lookupType('LogsRequest')
/** The message types Export{Trace,Metrics,Logs}ServiceResponse, which differ only in the name of `rejected`. */
export const exportResponse = root.lookupType('ExportResponse')
/** The message type google.rpc.Status, which is the body of an OTLP/HTTP error (OTLP specification, "Failures"). */
export const rpcStatus = root.lookupType('RpcStatus')
