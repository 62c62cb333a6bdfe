import { Card } from '../../../components/Card.tsx';
import { Time } from '../../../components/Time.tsx';
import { messages } from '../../../messages/index.ts';
import type { AttackView } from '../queries.ts';
import { stepsOf } from './steps.ts';

const text = messages.attack;

export function Steps({ view }: { readonly view: AttackView }) {
  return (
    <Card title={text.steps}>
      <ol className="steps">
        {stepsOf(view).map(({ id, title, text: hint, at }) => (
          <li key={id} data-step={id} data-open={at === null ? '' : undefined}>
            <strong>{title}</strong>
            <span className="dim">{at === null ? null : <Time at={at} />}</span>
            <span className="hint">{hint}</span>
          </li>
        ))}
      </ol>
    </Card>
  );
}
