import {
  context,
  isSpanContextValid,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { BatchSpanProcessor, type SpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
/** The span of a request. */
export interface RequestTrace {
  /** What a generation remembers, so that whichever replica learns that it is live continues the trace. W3C `traceparent`. */
  readonly traceparent: string;
  end(operation: string, status: number): void;
}

export interface TracedGeneration {
  readonly generation: number;
  readonly cause: string;
  /** Time from accepted to live. */
  readonly tookMs: number;
  /** Of the request that took it; null where it was not traced. */
  readonly traceparent: string | null;
}

/** Spans from the call of the API to the moment when every edge has the write in its kernel. */
export interface Tracing {
  /** `parent`: the `traceparent` header as sent. */
  begin(method: string, parent: string | undefined): RequestTrace;
  readonly live: (generations: readonly TracedGeneration[]) => void;
  /** Sends what waits. */
  stop(): Promise<void>;
}

/** Sends to the OTEL_EXPORTER_OTLP_ENDPOINT of the environment, by OTLP over HTTP; null without one. */
export function openTracing(environment: NodeJS.ProcessEnv): Tracing | null {
  const isAsked =
    environment['OTEL_EXPORTER_OTLP_ENDPOINT'] ?? environment['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];
  return isAsked
    ? createTracing(new BatchSpanProcessor({ exporter: new OTLPTraceExporter() }))
    : null;
}

export function createTracing(processor: SpanProcessor): Tracing {
  const provider = new TracerProvider({ spanProcessors: [processor] });
  const tracer = provider.getTracer('portcullis');
  return {
    begin(method, parent) {
      const span = tracer.startSpan(method, { kind: SpanKind.SERVER }, contextOf(parent));
      const { traceId, spanId } = span.spanContext();
      return {
        traceparent: `00-${traceId}-${spanId}-01`,
        end(operation, status) {
          span.updateName(operation);
          span.setAttributes({
            'http.request.method': method,
            'http.response.status_code': status,
          });
          if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
          span.end();
        },
      };
    },
    live(generations) {
      const now = Date.now();
      for (const { generation, cause, tookMs, traceparent } of generations) {
        if (traceparent === null) continue;
        const options = { startTime: now - tookMs, kind: SpanKind.CONSUMER };
        const span = tracer.startSpan('live on every edge', options, contextOf(traceparent));
        span.setAttributes({ 'portcullis.generation': generation, 'portcullis.cause': cause });
        span.end(now);
      }
    },
    stop: () => provider.shutdown(),
  };
}

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})/;

/** https://www.w3.org/TR/trace-context/#traceparent-header */
function contextOf(traceparent: string | undefined) {
  const [, traceId = '', spanId = '', flags = '0'] = TRACEPARENT.exec(traceparent ?? '') ?? [];
  const parent: SpanContext = {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: true,
  };
  return isSpanContextValid(parent) ? trace.setSpanContext(ROOT_CONTEXT, parent) : context.active();
}
