#pragma once

namespace CLI {
class App;
}  // namespace CLI

namespace scorecast::launcher {

struct DecideFlags;
struct DrainFlags;
struct RerankFlags;
struct ScoreFlags;
struct ServerFlags;

/// Adds the flags of every command that connects to a server.
void AddConnectionFlags(CLI::App& app, ServerFlags& flags);
/// Adds those, and the others of every command that sends requests to a server.
void AddServerFlags(CLI::App& app, ServerFlags& flags);

// All flags of the commands that send one request to a server.

void AddScoreFlags(CLI::App& app, ScoreFlags& flags);
void AddRerankFlags(CLI::App& app, RerankFlags& flags);
void AddDecideFlags(CLI::App& app, DecideFlags& flags);

/// All flags of the commands that drain a replica.
void AddDrainFlags(CLI::App& app, DrainFlags& flags);

}  // namespace scorecast::launcher
