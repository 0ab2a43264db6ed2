new EventSource("/api/v1/stream").addEventListener("snapshot", (e) => { document.getElementById("app").textContent = e.data; });
