import {
  isSpanContextValid,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import type { SpanProcessor } from '@opentelemetry/sdk-trace';
/** The span of a request. */
export interface RequestTrace {
  /**
   * The trace that a generation remembers, so that whichever replica learns that it is live continues the trace. W3C
   * `traceparent`.
   */
  readonly traceparent: string;
  end(operation: string, status: number): void;
}

export interface TracedGeneration {
  readonly generation: number;
  readonly cause: string;
  /** Time from accepted to live. */
  readonly tookMs: number;
  /** The trace of the request that took it; null where it was not traced. */
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

/**
 * Sends to the OTEL_EXPORTER_OTLP_ENDPOINT of the environment, by OTLP over HTTP; null without one. The packages take
 * 400 ms to load, so they are loaded only then.
 */
export async function openTracing(environment: NodeJS.ProcessEnv): Promise<Tracing | null> {
  const endpoint =
    environment['OTEL_EXPORTER_OTLP_ENDPOINT'] ?? environment['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];
  if (endpoint === undefined || endpoint === '') return null;
  const [{ OTLPTraceExporter }, { BatchSpanProcessor }] = await Promise.all([
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/sdk-trace'),
  ]);
  return createTracing(new BatchSpanProcessor({ exporter: new OTLPTraceExporter() }));
}

export async function createTracing(processor: SpanProcessor): Promise<Tracing> {
  const { TracerProvider } = await import('@opentelemetry/sdk-trace');
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
  return isSpanContextValid(parent) ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT;
}
