import { type DetectorState, INITIAL, step } from '@portcullis/core/attacks/detector/detector.ts';
import type { WatchScope } from '@portcullis/core/attacks/detector/scope-settings.ts';
import { WatchedEdge } from '../../floods/watched-edge.ts';
import type { Namespace } from '../../stack/netns.ts';
import { type CollectorTrialOptions, Sightings } from './ours.ts';
import type { Sighting } from './trial.ts';

/** The process of an edge that counts in the kernel, and control's detector here on what it tells. */
export class OurEdge {
  readonly #edge: WatchedEdge;
  readonly #sightings: Sightings;

  private constructor(edge: WatchedEdge, sightings: Sightings) {
    this.#edge = edge;
    this.#sightings = sightings;
  }

  static async start(
    where: Namespace,
    device: string,
    { networks, pps, mbps, holdSeconds }: Omit<CollectorTrialOptions, 'port'>,
  ): Promise<OurEdge> {
    const thresholds = { pps, bps: mbps * 1e6, holdMs: holdSeconds * 1000 };
    const scopes = networks.map(
      (scope): WatchScope => ({
        scope,
        ...thresholds,
        mitigation: 'off',
        safelist: [],
        subject: true,
      }),
    );
    const sightings = new Sightings();
    let state: DetectorState = INITIAL;
    const settings = { thresholdsOf: () => thresholds, maxSubjects: 20_000 };
    const edge = await WatchedEdge.start(where, {
      device,
      scopes,
      onSample: (sample) => {
        const stepped = step(state, sample, settings);
        state = stepped.state;
        for (const event of stepped.events) sightings.note(Date.now(), event);
      },
    });
    return new OurEdge(edge, sightings);
  }

  sightings(): readonly Sighting[] {
    return this.#sightings.all();
  }

  stop(): Promise<void> {
    return this.#edge.stop();
  }
}
