import { Link } from '@tanstack/react-router';
import { Compass } from 'lucide-react';
import { EmptyState } from '../components/EmptyState.tsx';
import { messages } from '../messages/index.ts';

export function NotFound() {
  return (
    <div className="card">
      <EmptyState icon={Compass} title={messages.notFound.title} text={messages.notFound.text}>
        <Link to="/addresses">{messages.notFound.back}</Link>
      </EmptyState>
    </div>
  );
}
